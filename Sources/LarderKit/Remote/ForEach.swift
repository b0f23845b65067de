/// Calls `body` for each that `next` gives, for up to `width` at once, and returns once all are
/// done. The first error ends it, and cancels the others.
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

/// Calls `body` for each of `items`, the last one first, and for those that it returns in turn, for
/// up to `width` at once. The first error ends it, and cancels the others.
func forEach<Item: Sendable>(
    atOnce width: Int, _ items: [Item],
    _ body: @escaping @Sendable (Item) async throws -> [Item]
) async throws {
    try await withThrowingTaskGroup(of: [Item].self) { group in
        var waiting = items
        var running = 0
        while true {
            try Task.checkCancellation()
            while running < width, let item = waiting.popLast() {
                group.addTask { try await body(item) }
                running += 1
            }
            guard let more = try await group.next() else { return }
            running -= 1
            waiting += more
        }
    }
}
