"""The command line: parse arguments, call one public function, print."""
