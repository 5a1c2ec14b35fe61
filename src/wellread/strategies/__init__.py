"""The recipes. Each strategy is one file that reads like its recipe; what they share has files of its own.

iterative   search, judge, write down, answer     compose      the one cited answer step
fanout      many queries at once                  extract      an answer without a model
react       thought, action, observation          attribution  numbers that a writer forgot
  actions     what the model can do                 context      windows, cutting, fencing
corrective  grade, correct, refine                agent        the loop in which a model acts
  grading     yes and no, or scores                 turns        tags and labelled lines, read tolerantly
  refine      strips                                lookup       hits → passages
digest      read, rank, summarise                 relevance    scores by evaluator, meaning or words
  documents   pages, or passages by document        calls        one small request to a model
quote       no language model at all              followup     questions made to stand alone
guided      the evaluator finds, one call answers earlier      sources of a conversation
auto        quote, guided, react                  roles        which model does what
                                                  trail        following and reading with the evaluator
"""
