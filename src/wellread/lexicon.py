"""Small closed word lists that reading sentences needs. Mostly English; the docs say what that means."""

from __future__ import annotations

import re

STOPWORDS = frozenset(
    "a an the and or but nor so yet if then than that this these those there here it its he him his she her hers they them their theirs "
    "we us our ours you your yours i me my mine who whom whose which what when where why how as at by for from in into of off on onto out "
    "over to up with within about above across after against along among around before behind below between both during per since "
    "through throughout toward towards under until upon via while is are was were be been being am do does did done doing has have had "
    "having can could may might must shall should will would not no never none cannot also just only very more most much many such same "
    "other another some any each every all own too even still however therefore thus because although though whereas according "
    "der die das den dem des ein eine einer eines und oder ist sind war waren im am zum zur von mit auf für als auch "
    "le la les un une du de et ou est sont dans par pour sur avec au aux que qui se ce el los las una y o es son por para con su al lo "
    "il gli di e che del della nel sono".split()
)

# A capital letter on one of these, at the start of a sentence, makes no name of it.
BARE_NOUNS = frozenset(
    "early former late modern ancient famous young old new great large small recent today yesterday tomorrow instead overall indeed "
    "finally first second third next last later earlier meanwhile moreover furthermore additionally besides despite unlike like based "
    "given together perhaps maybe yes no people women men children research evidence data work life nothing everything something everyone "
    "someone anyone nobody little few several one two three four five six seven eight nine ten half part information answer summary "
    "water light air once twice again hence otherwise nevertheless nonetheless consequently accordingly interestingly notably "
    "specifically overall please note well now".split()
)
TITLES = frozenset("dr mr mrs ms prof sir dame lord lady st saint".split())

# What may follow a bare name at the start of a sentence; "-ed" is seen by its ending.
VERBS = frozenset(
    "is was has had did does can could will would may might must wrote made found became won died began led built gave took said says "
    "went came saw held ran met grew knew left lost kept stood spoke sang drew flew fought brought bought thought taught sold told sent "
    "spent felt put set cut lies lives lived orbits contains remains makes became rose fell chose broke".split()
)
SINGULAR_VERBS = frozenset("is was has does".split())

NEGATORS = frozenset(
    "not never no cannot without neither nor none nobody nothing nowhere nicht kein keine keiner nie pas jamais aucun aucune sin nunca non".split()
)
NOT_NEGATING = frozenset("only just merely until least less fewer more doubt matter one".split())  # "not only", "no doubt"
SKIPPED_BY_NEGATION = frozenset("longer yet ever really actually fully entirely completely always simply directly even".split())

_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
).split()
_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth "
    "seventeenth eighteenth nineteenth twentieth"
).split()
TENS = {word: 10 * n for n, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)}
UNITS = {word: n for n, word in enumerate(_UNITS)}
NUMBER_WORDS = UNITS | TENS | {word: n for n, word in enumerate(_ORDINALS, 1)} | {"dozen": 12}
VAGUE = frozenset({"zero", "one", "first", "second"})  # they also mean other things than a number
SCALES = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}

MONTHS = ("january february march april may june july august september october november december").split()

# What is left of a people's name and of its country's behind their common beginning: Ital-ian, Ital-y.
PEOPLE_ENDINGS = frozenset("an ian n ese ish i ic s ns ans ians".split())
COUNTRY_ENDINGS = frozenset("y ia a e o land any ".split(" "))

# "It is not true that …": words behind one of these are not what the sentence says.
DENIALS = NEGATORS | frozenset(
    "false falsely myth myths wrong wrongly untrue denied denies disputed didn doesn isn wasn couldn".split()
)

LEAD_INS = frozenset(
    "here below following these this sources references source see summary in short key note notes answer".split()
)
# Remarks on the search, not on the world.
REMARK = re.compile(
    r"(?:I|We)(?: am| was|['’]m)? (?:could|can|did|do|found|have|cannot|not|couldn['’]t|can['’]t|didn['’]t|don['’]t|haven['’]t|unable|sorry)\b"
    r".*\b(?:find|found|answer|say|tell|sure|know|information|sources?|passages?|search\w*)\b"
    r"|(?:The|These|None of the|No|My|Neither of the)\s(?:\w+\s){0,2}(?:passages?|sources?|results?|documents?|context|information|articles?)\b"
    r".*(?:\bnot?\b|n['’]t\b|\bnone\b|\bnothing\b|\blacks?\b)"
    r"|(?:No|None of the)\s(?:\w+\s){0,2}(?:passages?|sources?|results?|information|answer)\b",
    re.IGNORECASE | re.DOTALL,
)
