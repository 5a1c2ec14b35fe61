"""The recipes. Each strategy is one file that reads like its recipe; what they share has files of its own.

iterative   search, judge, write down, answer     compose      the one cited answer step
fanout      many queries at once                  attribution  numbers that a writer forgot
react       thought, action, observation          proof        the answer read once more
  actions     what the model can do                 context      windows, cutting, fencing
corrective  grade, correct, refine                agent        the loop in which a model acts
  grading     yes and no, or scores                 turns        tags and labelled lines, read tolerantly
  refine      strips                                lookup       hits → passages
digest      read, rank, summarise                 relevance    scores by evaluator, meaning or words
quote       no language model at all              trail        following and reading with the evaluator
guided      the evaluator finds, one call answers likely_sentences  sentences by words and meaning
auto        quote, guided, react                  calls        one small request to a model
research    a report in checked sections          recipe       which model does what, follow-ups
  bibliography  what was found, without a model   earlier      sources of a conversation
                                                  ending       how every run ends
"""
