#!/usr/bin/env python3
"""Makes two collections for benches/fusion.py: short turns of conversations, and records full of names and identifiers.

    python3 benches/fusion_sets.py FOLDER      writes FOLDER/chat.json and FOLDER/records.json

They are made up from patterns, the same at every run. In the conversations a question is often asked in one turn and
answered in the next, in other words than those of the query; records are asked for by identifiers, by names, or by what
they say.
"""
import json
import random
import sys

PEOPLE = ["baker", "pilot", "plumber", "teacher", "nurse", "gardener", "painter", "miller", "tailor", "butcher", "carpenter",
          "cook", "courier", "dentist", "farmer", "fisher", "florist", "glazier", "judge", "librarian", "mason", "porter",
          "sailor", "vet"]
# The question in the chat; the answer beside it; what is asked later: in the words of the question, in those of the
# answer, in others.
TOPICS = [
    ("When is your sister getting married, {a}?", "On the {n}th of {m}, in a small chapel by the lake.",
     "when is the {a}'s sister getting married", "who marries in a chapel by the lake", "date of the wedding in the {a}'s family"),
    ("Did you finally buy a bicycle, {a}?", "Yes, a {c} one with {n} gears, second hand.",
     "which bicycle did the {a} buy", "{c} second hand with {n} gears", "what bike does the {a} ride now"),
    ("Is there anything you cannot eat, {a}?", "{f} makes my throat swell, so none of that please.",
     "what can the {a} not eat", "whose throat swells from {f}", "food allergy of the {a}"),
    ("How was the first week at the new place, {a}?", "Busy. I share a desk with the {b} and we test {t}.",
     "how was the {a}'s first week at the new place", "who shares a desk and tests {t}", "the {a}'s new job and colleagues"),
    ("Have you found somewhere to live, {a}?", "Two rooms above the bakery in {p}, rent is {n}0 a week.",
     "has the {a} found somewhere to live", "rooms above the bakery in {p}", "the {a}'s apartment and how much it costs"),
    ("What did you name the puppy, {a}?", "{d}. She already chewed the {c} sofa.",
     "what did the {a} name the puppy", "who chewed the {c} sofa", "name of the {a}'s dog"),
    ("Where are you off to this summer, {a}?", "Walking in {p} with the {b}, {n} days in {m}.",
     "where is the {a} off to this summer", "walking in {p} for {n} days", "vacation plans of the {a}"),
    ("What did the doctor say, {a}?", "Nothing broken, but no running for {n} weeks.",
     "what did the doctor say to the {a}", "no running for {n} weeks", "result of the {a}'s medical visit"),
    ("How are the plants doing, {a}?", "The {f} died in the frost, only the herbs made it.",
     "how are the {a}'s plants doing", "{f} died in the frost", "what happened in the {a}'s garden last winter"),
    ("Are the results of the test out, {a}?", "Passed with {n} points, I can start in {m}.",
     "results of the {a}'s test", "passed with {n} points and starts in {m}", "did the {a} get through the exam"),
    ("Why did you come by train, {a}?", "The old {c} van would not start, the garage wants {n}00 for it.",
     "why did the {a} come by train", "{c} van that would not start", "what is wrong with the {a}'s vehicle"),
    ("Are you still playing on Friday, {a}?", "Yes, at the {p} hall, the {b} sings and I am on drums.",
     "is the {a} still playing on Friday", "drums at the {p} hall", "where does the {a}'s band perform"),
]
WORDS = {
    "c": ["red", "blue", "green", "yellow", "grey", "white"], "m": ["May", "June", "July", "August", "September"],
    "f": ["peanuts", "shellfish", "strawberries", "tomatoes", "celery", "lemons"],
    "p": ["Porto", "Ghent", "Tromso", "Graz", "Zadar", "Bergen", "Lucca"], "d": ["Pixel", "Mocha", "Biscuit", "Juno", "Nori"],
    "t": ["brakes", "invoices", "sensors", "recipes", "elevators"],
}
CHATTER = ["Ha, I know what you mean.", "Same here, it never stops.", "Let me get a coffee first.", "Sorry, I was on the phone.",
           "That sounds great, tell me more!", "Oh no, really?", "I have to run in ten minutes.", "Did you see the rain last night?",
           "Good luck with that.", "We should meet more often.", "Anyway, back to work.", "You are the best."]
SERVICES = ["billing", "ingest", "search-api", "ledger", "mailer", "auth-proxy", "scheduler", "thumbnailer"]
FAULTS = [
    ("connections pile up until the pool is empty", "runs out of database connections"),
    ("memory grows by the hour and the process is killed at night", "leak ends in an out of memory kill"),
    ("clocks drift and tokens are refused as expired", "time skew breaks logins"),
    ("a retry loop sends the same message many times", "customers receive duplicates"),
    ("the certificate was not renewed", "TLS expired"),
    ("the disk fills with debug output", "logs use up the storage"),
    ("a missing index makes the nightly report take hours", "slow query in the report job"),
    ("the cache returns rows of another tenant", "data of a different customer is shown"),
]


def chat():
    chance = random.Random(11)
    docs, queries, qrels = [], [], []
    for thread in range(150):
        pair = chance.sample(PEOPLE, 2)
        turns = [(chance.choice(pair), chance.choice(CHATTER), None) for _ in range(chance.randint(3, 7))]
        for question, answer, *asked in chance.sample(TOPICS, 2):
            a, b = chance.sample(pair, 2)
            values = {key: chance.choice(words) for key, words in WORDS.items()}
            question, answer, query = (
                text.format(a=a, b=b, n=number, **values)
                for number in [chance.randint(2, 9)] for text in (question, answer, chance.choice(asked)))
            at = chance.choice([at for at in range(len(turns) + 1) if at == len(turns) or not turns[at][2]])
            turns[at:at] = [(b, question, None), (a, answer, query)]
        previous = None
        for number, (speaker, text, query) in enumerate(turns):
            name = f"c{thread}-{number}"
            meta = {"$thread": f"chat-{thread}"}
            if previous:
                meta["$prev"] = f"/share/chat/{previous}"
            docs.append({"id": name, "text": f"{speaker}: {text}", "meta": meta})
            if query:
                queries.append({"id": len(queries), "text": query, "answer": name})
            previous = name
    # Several conversations may ask the same thing: all their answers count.
    for query in queries:
        alike = {other["answer"] for other in queries if other["text"] == query["text"]}
        qrels += [{"query": query["id"], "doc": doc, "grade": 1} for doc in sorted(alike)]
    return {"docs": docs, "queries": queries, "qrels": qrels}


def records():
    chance = random.Random(12)
    docs, queries, qrels = [], [], []
    for number in range(1500):
        service, (fault, _), person = chance.choice(SERVICES), chance.choice(FAULTS), chance.choice(PEOPLE)
        ticket, code = f"OPS-{1000 + number}", f"E{chance.randint(1000, 9999)}"
        host = f"{service}-{chance.randint(1, 40):02d}.eu-{chance.randint(1, 4)}.internal"
        docs.append({
            "id": f"r{number}", "ticket": ticket, "host": host, "code": code, "service": service, "fault": fault, "person": person,
            "text": chance.choice([
                "{ticket}: {service} on {host} fails with {code}, {fault}. Owner: {person}.",
                "{person} looked at {host} ({code}): {fault}. Filed as {ticket}.",
                "Incident {ticket} / {code}. {service}: {fault}. {person} has rolled back {host}.",
            ]).format(ticket=ticket, service=service, host=host, code=code, fault=fault, person=person)})

    def ask(text, matches):
        found = [doc["id"] for doc in docs if matches(doc)]
        if 0 < len(found) <= 20:
            qrels.extend({"query": len(queries), "doc": doc, "grade": 1} for doc in found)
            queries.append({"id": len(queries), "text": text})

    while len(queries) < 300:
        doc = chance.choice(docs)
        said = dict(FAULTS)[doc["fault"]]
        kind = len(queries) % 4
        if kind == 0:
            ask(f"status of {doc['ticket']}", lambda other: other["ticket"] == doc["ticket"])
        elif kind == 1:
            ask(f"what happened on {doc['host']}", lambda other: other["host"] == doc["host"])
        elif kind == 2:
            ask(f"error {doc['code']} in {doc['service']}", lambda other: other["code"] == doc["code"])
        else:
            ask(f"{doc['person']}: {said} in {doc['service']}",
                lambda other: all(other[key] == doc[key] for key in ("person", "fault", "service")))
    docs = [{"id": doc["id"], "text": doc["text"]} for doc in docs]
    return {"docs": docs, "queries": queries, "qrels": qrels}


def main():
    for name, collection in (("chat", chat()), ("records", records())):
        with open(f"{sys.argv[1]}/{name}.json", "w", encoding="utf-8") as file:
            json.dump(collection, file)
        print(f"{name}: {len(collection['docs'])} texts, {len(collection['queries'])} queries")


if __name__ == "__main__":
    main()
