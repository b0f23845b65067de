/// What a server does now and then.
final class ServerUpkeep: Sendable {
    private let store: IconStore
    private let uses: UseNotes
    private let missing: MissingList?
    private let onProblem: @Sendable (String) -> Void

    init(
        _ store: IconStore, _ uses: UseNotes, _ missing: MissingList?,
        onProblem: @escaping @Sendable (String) -> Void
    ) {
        self.store = store
        self.uses = uses
        self.missing = missing
        self.onProblem = onProblem
    }

    /// Called every second, and by one thread at a time.
    func everySecond() { store.refresh() }

    /// The same every few seconds, and at the end.
    func everyFewSeconds() {
        uses.record(in: store.reader)
        guard let missing else { return }
        if missing.takeIsFull() {
            onProblem("the list of missing icons is full: no more URLs are noted")
        }
        do {
            try missing.save(store.reader)
        } catch {
            onProblem("the list of missing icons: \(error)")
        }
    }
}
