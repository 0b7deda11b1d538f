"""`anabranch demo`: the recommender, alive, while things happen to it that happen in production."""

from anabranch.demo.program import Recommender as Recommender
