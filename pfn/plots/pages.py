"""Pages from templates: the one place that uses Jinja2 (extra `plots`)."""

from pfn.errors import OptionError


def rendered(template: str, **values: object) -> str:
    """The page of a template, such as "plots/images/film.html.jinja", with these values; texts are escaped."""
    try:
        import jinja2
    except ModuleNotFoundError as error:
        raise OptionError(
            "pages need Jinja2, which is not installed. Run: pip install 'positive-factor-networks[plots]'"
        ) from error
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("pfn", ""),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(values)
