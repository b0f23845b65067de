import Foundation

/// Counts what goes over a link, and knows which URLs were downloaded.
package final class LinkLedger: @unchecked Sendable {
    // Unchecked because the state is variables; every access holds `condition`.
    private let condition = NSCondition()
    private var current = LinkCounts()
    /// By the number of a URL.
    private var isDownloaded: [Bool]
    private let rows: TableRows

    package init(_ rows: TableRows) {
        self.rows = rows
        isDownloaded = Array(repeating: false, count: rows.urlCount)
    }

    /// What went over the link so far.
    package var counts: LinkCounts { condition.withLock { current } }

    /// The same once nothing is under way, if that is so within some seconds.
    package func finalCounts(patience: TimeInterval = 5) -> LinkCounts {
        let deadline = Date(timeIntervalSinceNow: patience)
        return condition.withLock {
            while current.underWay > 0, condition.wait(until: deadline) {}
            return current
        }
    }

    func begin() { condition.withLock { current.requests += 1 } }

    func receive(_ bytes: Int) { condition.withLock { current.bytes += Int64(bytes) } }

    func finish(_ url: String) {
        let number = rows.number(of: url)
        end { counts in
            counts.downloads += 1
            guard let number else { return }
            if isDownloaded[number] { counts.repeatedDownloads += 1 }
            isDownloaded[number] = true
        }
    }

    func cancel(after bytes: Int) {
        end { counts in
            counts.cancelled += 1
            counts.wastedBytes += Int64(bytes)
        }
    }

    func fail(_ failure: @autoclosure () -> LinkCounts.Failure) {
        end { counts in
            counts.failures += 1
            counts.firstFailure = counts.firstFailure ?? failure()
        }
    }

    private func end(_ count: (inout LinkCounts) -> Void) {
        condition.withLock {
            count(&current)
            if current.underWay == 0 { condition.broadcast() }
        }
    }
}
