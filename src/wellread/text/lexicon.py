"""Small closed word lists that reading sentences needs. Mostly English; the docs say what that means."""

from __future__ import annotations


def word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _counted(words: str, first: int, step: int = 1) -> dict[str, int]:
    return {word: first + step * index for index, word in enumerate(words.split())}


# Scripts that put no blanks between words; Hangul does, but inflects by suffixes, which pairs get over.
UNSPACED = (
    "\u0e00-\u0eff", "\u1000-\u109f", "\u1780-\u17ff", "\u3005-\u3007", "\u3040-\u30ff", "\u31f0-\u31ff", "\u3400-\u4dbf",
    "\u4e00-\u9fff", "\uac00-\ud7af", "\uf900-\ufaff", "\U00020000-\U0003ffff",
)  # fmt: skip
UNSPACED_CLASS = f"[{''.join(UNSPACED)}]"  # for a pattern

# Words that carry no content of their own.
STOPWORDS = word_set("""
    a an the and or but nor so yet if then than that this these those there here it its he him his she her hers they
    them their theirs we us our ours you your yours i me my mine who whom whose which what when where why how as at by
    for from in into of off on onto out over to up with within about above across after against along among around
    before behind below between both during per since through throughout toward towards under until upon via while is
    are was were be been being am do does did done doing has have had having can could may might must shall should will
    would not no never none cannot also just only very more most much many such same other another some any each every
    all own too even still however therefore thus because although though whereas according
    der die das den dem des ein eine einer eines und oder ist sind war waren im am zum zur von mit auf für als auch
    le la les un une du de et ou est sont dans par pour sur avec au aux que qui se ce
    el los las una y o es son por para con su al lo il gli di e che del della nel sono
""")

# --- names ---

# A capital letter on one of these, at the start of a sentence, makes no name of it.
NO_NAMES = word_set("""
    early former late modern ancient famous young old new great large small recent today yesterday tomorrow instead
    overall indeed first second third next last later earlier meanwhile moreover furthermore besides despite unlike like
    based given together perhaps maybe yes people women men children research evidence data work life nothing everything
    something everyone someone anyone nobody little few several half part information answer summary once twice again
    whoever whichever without neither whether unless
    hence otherwise nevertheless nonetheless please note well now soon often elsewhere abroad somehow alas
""")
TITLES = word_set("dr mr mrs ms prof sir dame lord lady st saint")
# What may follow a bare name at the start of a sentence; "-ed" is seen by its ending.
VERBS = word_set("""
    is was has had did does can could will would may might must wrote made found became won died began led built gave
    took said says went came saw held ran met grew knew left lost kept stood spoke sang drew flew fought brought bought
    thought taught sold told sent spent felt put set cut lies lives orbits contains remains makes rose fell chose broke
""")
SINGULAR_VERBS = word_set("is was has does")
# What is left of a people's name and of its country's behind their common beginning: Ital-ian, Ital-y.
PEOPLE_ENDINGS = word_set("an ian n ese ish i ic s ns ans ians")
COUNTRY_ENDINGS = word_set("y ia a e o land any") | {""}
# Names of the same country and its people that share too little for that.
_SAME_COUNTRY = """
    america american us usa united states
    britain british uk united kingdom england english englishman englishmen briton scotland wales
    france french frenchman frenchmen gaul
    germany german germanic
    netherlands dutch holland hollander
    spain spanish spaniard
    poland polish pole
    denmark danish dane
    sweden swedish swede
    finland finnish finn
    turkey turkish turk
    greece greek hellenic
    switzerland swiss
    wales welsh
    ireland irish irishman
    scotland scottish scots scotsman
    norway norwegian norse
    portugal portuguese
    philippines filipino filipina
    iceland icelandic
    czechoslovakia czechoslovak czech slovak
    slovakia slovak slovakian
    thailand thai
    israel israeli hebrew
    soviet soviets ussr russian russia
    byzantium byzantine
    europe european eu
"""
SAME_COUNTRY = tuple(word_set(line) for line in _SAME_COUNTRY.strip().splitlines())
# Forms that no rule takes back to their verb.
_IRREGULAR = word_set("""
    won:win wrote:write written:write made:make led:lead lost:lose began:begin begun:begin built:build bought:buy
    brought:bring caught:catch chose:choose chosen:choose drew:draw drawn:draw drove:drive driven:drive fell:fall
    fallen:fall fought:fight flew:fly flown:fly forgot:forget gave:give given:give grew:grow grown:grow held:hold
    kept:keep knew:know known:know left:leave lent:lend met:meet paid:pay ran:run rose:rise risen:rise said:say
    sang:sing sung:sing sold:sell sent:send shot:shoot spoke:speak spoken:speak spent:spend stood:stand swam:swim
    taught:teach told:tell thought:think threw:throw thrown:throw took:take taken:take understood:understand wore:wear
    worn:wear went:go gone:go came:come became:become died:die dies:die dying:die sat:sit slept:sleep stole:steal
    stolen:steal struck:strike sought:seek shown:show
""")
IRREGULAR = {past: verb for past, _, verb in (pair.partition(":") for pair in _IRREGULAR)}

# --- numbers ---

UNITS = _counted(
    """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen""",
    0,
)
TENS = _counted("twenty thirty forty fifty sixty seventy eighty ninety", 20, 10)
ORDINALS = _counted(
    """first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth
    sixteenth seventeenth eighteenth nineteenth twentieth""",
    1,
)
NUMBER_WORDS = UNITS | TENS | ORDINALS | {"dozen": 12}
VAGUE = word_set("zero one first second")  # they also mean other things than a number
SCALES = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "mn": 10**6, "billion": 10**9, "bn": 10**9, "trillion": 10**12}
MONTHS = list(_counted("january february march april may june july august september october november december", 1))
# As they are written elsewhere, each with its number: German, Swedish and its neighbours, French, Spanish, Italian.
_MONTHS_ABROAD = """
    Januar Jänner januari januar janvier enero gennaio
    Februar februari februar février febrero febbraio
    März mars marts marzo
    April avril abril aprile
    Mai mai maj mayo maggio
    Juni juni juin junio giugno
    Juli juli juillet julio luglio
    August augusti août agosto
    September septembre septiembre settembre
    Oktober oktober octobre octubre ottobre
    November novembre noviembre
    Dezember december décembre diciembre dicembre
"""
MONTHS_ABROAD = {name: number for number, names in enumerate(_MONTHS_ABROAD.strip().splitlines(), 1) for name in names.split()}

# --- negations ---

NEGATORS = word_set("""
    not never no cannot without neither nor none nobody nothing nowhere
    nicht kein keine keiner nie pas jamais aucun aucune nunca
    isnt arent wasnt werent doesnt didnt dont hasnt havent hadnt wouldnt couldnt shouldnt
    isn aren wasn weren doesn didn hasn hadn wouldn couldn shouldn
""")  # "isn't", whatever stands in the place of its apostrophe
NOT_NEGATING = word_set("only just merely until least doubt matter")  # "not only", "no doubt"
# In a passage, any of these may be what a "not" of the answer is about.
NEGATIVE = NEGATORS | word_set("""
    until unless except rather instead less fewer hardly rarely seldom barely scarcely unlike unable impossible outside
    false myth longer illegal irregular inactive incomplete invalid
""")
# In front of a quoted part of a sentence.
DENIALS = NEGATORS | word_set("""
    myth myths untrue misconception misconceptions hoax false falsely incorrect incorrectly wrongly mistakenly denied denies
    didn doesn isn wasn aren weren couldn hasn hadn
""")

# --- sentences that state nothing ---

# Stems that only lead through an answer; they need no evidence.
FILLERS = word_set("""
    answer short summar conclus overall final yes inde additional moreov furthermor notab specifical respectiv exampl instanc
""")

LEAD_INS = word_set("here below following these this sources references source see summary in short key note notes answer")
# --- abbreviations ---

# A name, a number or more text always follows these.
NEVER_LAST = word_set("""
    dr mr mrs ms mx prof ste gen sen rep gov sgt capt lt col maj cmdr adm rev hon pres messrs mme mlle fr sra srta
    e.g i.e cf vs viz approx ca z.b d.h u.a bzw bspw vgl p.ex resp mt v lit
""")
# These are abbreviations only in front of a number ("No. 5", "Sept. 3").
BEFORE_NUMBERS = word_set("""
    no nos nr vol vols fig figs p pp ch sec art op eq eqs tab para jan feb mar apr jun jul aug sep sept oct nov dec
    ver c b d
""")
# These may end a sentence; they do when a word follows that opens sentences.
MAYBE_LAST = word_set(
    "inc ltd co corp jr sr bros etc al esq univ dept est ed eds ave blvd rd st ft hr a.m p.m ph.d b.c a.d u.s u.k"
)
OPENERS = word_set("""
    the a an this that these those he she it they we you his her its their our my in on at by for from with after before
    during since when while although though however but and so if as there here today later then thus also another other
    some many most several one two both all each among between according what who how why where which is are was were
    did does do no not
""")
# "am 3. Oktober", "im 19. Jahrhundert": in German and its neighbours a point makes the ordinal.
AFTER_ORDINAL = word_set("jahrhundert jahrhunderts jahrtausend weltkrieg").union(map(str.casefold, MONTHS_ABROAD))
