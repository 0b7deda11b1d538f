"""Programs on Spark: workers are tasks that stay, data comes and goes as DataFrames. The only importer of pyspark."""
