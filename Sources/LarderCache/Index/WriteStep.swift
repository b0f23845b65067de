/// How long a transaction may be that others wait for.
enum WriteStep {
    /// It ends after so many rows that are dealt with, and no more than as many others that go with
    /// them: an object may have any number of URLs; …
    static let rowLimit = 1_000
    /// … or after this time.
    static let time = Duration.milliseconds(20)
}
