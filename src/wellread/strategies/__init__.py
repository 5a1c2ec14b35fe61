"""The recipes. Each strategy is one file that reads like its recipe; what they share has files of its own.

iterative   search, judge, write down, then answer       compose     the one cited answer step
fanout      many queries at once, ranked by meaning      context     windows, cutting, fencing
react       thought, action, observation                 lookup      hits → numbered passages
corrective  grade, correct, refine                       relevance   scores by evaluator, meaning or words
digest      read, rank, summarise                        roles       which model does what
quote       no language model at all                     tags        tolerant parsing
"""
