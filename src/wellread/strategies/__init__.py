"""The recipes. Each strategy is one file that reads like its recipe; what they share has files of its own.

iterative   search, judge, write down, answer     compose      the one cited answer step
  research    what it has gathered                  extract      an answer without a model
  toolcalls   talking with tool calls               attribution  numbers that a writer forgot
fanout      many queries at once                  context      windows, cutting, fencing
react       thought, action, observation          transcript   a talk in which a program answers
  actions     what the model can do                 lookup       hits → passages
  turns       reading what it wrote                 relevance    scores by evaluator, meaning or words
corrective  grade, correct, refine                calls        one small request to a model
  grading     yes and no, or scores                 followup     questions made to stand alone
  refine      strips                                earlier      sources of a conversation
digest      read, rank, summarise                 roles        which model does what
  documents   pages, or passages by document        tags         tolerant parsing
quote       no language model at all                trail        following and reading with the evaluator
guided      the evaluator finds, one call answers
auto        quote, guided, react: the cheapest that is sure enough
"""
