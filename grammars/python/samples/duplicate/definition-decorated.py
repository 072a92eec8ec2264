@app.route("/")
def index():
    return "one"


def other():
    return "two"


@app.route("/")
def index():
    return "three"
