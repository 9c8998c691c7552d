"""The mathematics: arrays in, arrays out; no files, no screens, no clocks."""
