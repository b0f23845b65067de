/// Items that are read in pages, each after the last item of the page before.
struct Pages<Item> {
    private let read: (_ last: Item?) throws -> [Item]
    private var page: ArraySlice<Item> = []
    private var last: Item?

    init(_ read: @escaping (_ last: Item?) throws -> [Item]) { self.read = read }

    mutating func next() throws -> Item? {
        if page.isEmpty {
            page = try read(last)[...]
            last = page.last ?? last
        }
        return page.popFirst()
    }
}

/// Calls `body` for all items, up to `width` at once. The first error cancels the others.
func forEach<Item: Sendable>(
    atOnce width: Int, next: () async throws -> Item?,
    _ body: @escaping @Sendable (Item) async throws -> Void
) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        var running = 0
        while let item = try await next() {
            if running == width {
                try await group.next()
                running -= 1
            }
            group.addTask { try await body(item) }
            running += 1
        }
        try await group.waitForAll()
    }
}
