"""Which release of anabranch this is, for every layer."""

VERSION = "0.1.0"
