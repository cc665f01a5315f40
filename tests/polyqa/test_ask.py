import polyqa


def test_what_the_embedded_engine_passes_over_is_told_with_the_answer() -> None:
    program = polyqa.load("rac")
    assert polyqa.ask("When did Titanic come out?", program=program).unheeded == {}
    own = program.clarify.signature
    added = "Give only one reading. Write like a poet. Say No when in doubt."
    program.clarify.signature = own.with_instructions(f"{own.instructions}\n{added}")
    told = polyqa.ask("When did Titanic come out?", program=program)
    assert len(told.interpretations) == 1
    assert told.unheeded == {"clarify": ("Write like a poet.", "Say No when in doubt.")}
