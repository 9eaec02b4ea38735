"""Text of runs in Markdown can neither break a table nor carry HTML."""

from jaxbandits.reproduction.ledger import markdown


def test_markdown_of_runs_has_no_html_no_links_and_keeps_its_tables():
    assert markdown.plain("x <= 3, y < 2") == "x <= 3, y < 2"
    assert markdown.plain("<script>a</script>\n# b <!-- c") == "&lt;script>a&lt;/script> # b &lt;!-- c"
    assert markdown.plain("[a](javascript:b)") == "[a]\\(javascript:b)"
    assert markdown.cell("a | b * c") == "a \\| b \\* c"
