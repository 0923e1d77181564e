"""What public functions ask of their arguments: kinds, shapes, dtypes, ``out``; and the errors."""
