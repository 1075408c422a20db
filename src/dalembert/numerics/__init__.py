"""Small dense and sparse linear algebra as native functions, and the record that those of one model share."""
