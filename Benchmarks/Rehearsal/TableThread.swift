import Foundation
import LarderIcons

/// The main thread of an app with a table: in each frame it takes what has arrived, scrolls, and
/// hears of memory warnings.
///
/// The scroll's clock goes by frames. If a frame takes too long, the scroll stands still, too: so
/// every strategy shows the same rows.
final class TableThread {
    /// So many warnings are listed.
    private static let mostWarnings = 10_000

    private let screen: TableScreen
    private let strategy: any LoadingStrategy
    private let trace: ScrollTrace
    private let options: RehearsalOptions
    private let inbox: Inbox
    private let pressure: MemoryPressure

    private let start = ContinuousClock.now
    private var report: StrategyReport
    private var curve = MemoryCurve()
    private var scrollTime = 0.0
    private var nextEvent = 0
    private var goesUp = false
    private var nextFrame = ContinuousClock.now
    private var isShort = false
    private var resident = (bytes: Int64(0), at: ContinuousClock.now - .seconds(1))
    private var settlesSince: ContinuousClock.Instant?

    init(
        _ screen: TableScreen, _ strategy: any LoadingStrategy, _ trace: ScrollTrace,
        _ options: RehearsalOptions, _ inbox: Inbox, _ pressure: MemoryPressure
    ) {
        self.screen = screen
        self.strategy = strategy
        self.trace = trace
        self.options = options
        self.inbox = inbox
        self.pressure = pressure
        report = StrategyReport(options.strategy)
    }

    func run() -> StrategyReport {
        while !inbox.hasEnded, !isOver {
            let begin = ContinuousClock.now
            inbox.take().forEach(strategy.receive)
            if let event = dueEvent() { scroll(to: event) }
            watchMemory()
            report.frames.add(.now - begin)
            sample()
            waitForFrame()
        }
        report.isInterrupted = !isOver
        report.seconds = (ContinuousClock.now - start) / .seconds(1)
        report.scrollSeconds = scrollTime
        report.curve = curve.points
        screen.close()
        report.rows = screen.counts
        if let p50 = screen.waits.percentile(50), let p95 = screen.waits.percentile(95),
            let p99 = screen.waits.percentile(99)
        {
            report.waits = StrategyReport.Waits(p50: p50, p95: p95, p99: p99)
        }
        return report
    }

    /// Whether all events are shown, and the rows in view have come to their images.
    private var isOver: Bool {
        guard nextEvent == trace.events.count else { return false }
        if screen.isSettled { return true }
        return settlesSince.map { .now - $0 > .seconds(options.patience) } ?? false
    }

    /// The event that this frame shows. Of several, the last: a table is laid out once a frame.
    private func dueEvent() -> ScrollEvent? {
        var due: ScrollEvent?
        switch options.pace {
        case .images:
            guard screen.isSettled, nextEvent < trace.events.count else { return nil }
            due = trace.events[nextEvent]
            nextEvent += 1
            scrollTime = due?.time ?? scrollTime
        case .frames(let speed):
            while nextEvent < trace.events.count, trace.events[nextEvent].time <= scrollTime {
                due = trace.events[nextEvent]
                nextEvent += 1
            }
            // Of what comes after the scroll, nobody wants to see less.
            let isScrolling = nextEvent < trace.events.count
            scrollTime += FrameTimes.interval / .seconds(1) * (isScrolling ? speed : 1)
        }
        if nextEvent == trace.events.count, settlesSince == nil { settlesSince = .now }
        return due
    }

    private func scroll(to event: ScrollEvent) {
        let range = event.rows(of: screen.rows.count)
        // A row more or less at the bottom changes no direction.
        if range.lowerBound != screen.visible.lowerBound {
            goesUp = range.lowerBound < screen.visible.lowerBound
        }
        let (left, appeared) = screen.show(range)
        // First, as a row that appears may want what one that leaves has begun.
        appeared.forEach(strategy.load)
        left.forEach(strategy.leave)
        let ahead = options.prefetchAhead
        strategy.prefetch(
            goesUp
                ? max(0, range.lowerBound - ahead)..<range.lowerBound
                : range.upperBound..<min(screen.rows.count, range.upperBound + ahead))
    }

    /// What is in caches and cells, each image once.
    private var held: Int {
        screen.images.reduce(strategy.cachedBytes) {
            $0 + (strategy.caches($1) ? 0 : $1.data.count)
        }
    }

    /// Raises a warning when the limit is reached, and not again before there was room.
    private func watchMemory() {
        let before = held
        report.peakHeld = max(report.peakHeld, before)
        guard before >= options.memoryLimit else { return isShort = false }
        guard !isShort else { return }
        isShort = true
        curve.add(time: scrollTime, held: before, resident: resident.bytes)
        pressure.report(.warning)
        report.warningCount += 1
        guard report.warnings.count < Self.mostWarnings else { return }
        report.warnings.append(MemoryWarning(time: scrollTime, before: before, after: held))
    }

    private func sample() {
        let now = ContinuousClock.now
        if now - resident.at > .milliseconds(50) {
            resident = (ResidentMemory.now, now)
            report.peakResident = max(report.peakResident, resident.bytes)
        }
        curve.add(time: scrollTime, held: held, resident: resident.bytes)
    }

    private func waitForFrame() {
        let frame = FrameTimes.interval
        var isPacedByImages = false
        if case .images = options.pace {
            isPacedByImages = true
            if screen.isSettled { return }
        }
        nextFrame = nextFrame + frame
        let now = ContinuousClock.now
        // Late: the next one of the display's.
        if nextFrame < now { nextFrame = now + frame }
        inbox.wait(
            until: Date(timeIntervalSinceNow: (nextFrame - now) / .seconds(1)),
            orArrival: isPacedByImages)
    }
}
