"""MADAM-RAG (Wang et al., 2025, https://arxiv.org/abs/2504.13079): an agent per document, and their aggregator."""

import dspy

from polyqa.replies import FewWords, Interpretations, Sentences


# An agent's first reply: it sees its own document and no other.
class ReadDocument(dspy.Signature):
    """Answer the question from this document alone, and explain what in the document says so.

    The question may be ambiguous: answer the meaning that the document is about, and name that meaning in the
    explanation. Copy the short answer from the document. If the document does not answer the question, write null for
    both.
    """

    question: str = dspy.InputField(desc="a question that may be ambiguous")
    passage: str = dspy.InputField(desc="title | text")
    short_answer: FewWords = dspy.OutputField(desc="a few words, or null")
    explanation: Sentences = dspy.OutputField(desc="which thing the document is about and what it says of it, or null")


# An agent's reply in a later round: it also sees what the aggregator made of all replies.
class ReviseAnswer(dspy.Signature):
    """Answer the question from your document again, now that you know what all documents together gave.

    Others may have read about another thing of the same name: then their answers say nothing against yours. Keep
    your answer if your document says it. Change it if you misread your document, and write null for both if your
    document does not answer the question.
    """

    question: str = dspy.InputField(desc="a question that may be ambiguous")
    passage: str = dspy.InputField(desc="your document, title | text")
    summary: str = dspy.InputField(desc="what the aggregator made of the answers of all documents")
    short_answer: FewWords = dspy.OutputField(desc="a few words, or null")
    explanation: Sentences = dspy.OutputField(desc="which thing the document is about and what it says of it, or null")


class AggregateAnswers(dspy.Signature):
    """Collect all right answers to the question from the replies of agents, of whom each has read one document.

    Answers about different things of the same name are all right: write one reading for each, a question of its own
    that names the thing, with the short answer and the number of one reply that gives it. Where replies about the
    same thing disagree, take what more of them say and what is explained better, and leave out the other. Leave out
    replies without an answer. If none answers the question, give no reading.
    The answer says first what the question may mean, then tells each short answer in a sentence that makes clear what
    it belongs to. Add no facts of your own.
    """

    replies: str = dspy.InputField(desc="numbered replies, title | explanation | answer")
    question: str = dspy.InputField(desc="a question that may be ambiguous")
    interpretations: Interpretations = dspy.OutputField(desc="the readings that are answered rightly")
    answer: str = dspy.OutputField(desc="the long-form answer")
