"""Word documents: the package, the styles, the formulas and the text of a .docx."""
