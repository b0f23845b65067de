/// A scroll through a table: its events in the order of their times.
package struct ScrollTrace: Sendable, Equatable {
    package let events: [ScrollEvent]

    /// - Parameter events: at least one, in the order of their times.
    package init(_ events: [ScrollEvent]) { self.events = events }

    /// The trace as a file has it.
    package var text: String {
        events.map {
            "{\"time\": \($0.time), \"first\": \($0.first), \"visible\": \($0.visible)}\n"
        }.joined()
    }

    /// Seconds from the beginning to the last event.
    package var duration: Double { events.last?.time ?? 0 }

    /// The most rows that are visible at a time.
    package var mostVisible: Int { events.map(\.visible).max() ?? 0 }
}
