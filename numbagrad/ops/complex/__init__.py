"""Complex numbers: views of their parts, lazy conjugates, formulas over complex operands."""
