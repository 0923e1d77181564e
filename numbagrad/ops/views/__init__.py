"""Views, and what puts elements elsewhere: reshaping, splitting, joining, repeating."""
