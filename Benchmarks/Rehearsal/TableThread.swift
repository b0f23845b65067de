import Foundation
import LarderIcons

/// The main thread of a simulated app, which handles results, scrolls and raises memory warnings in
/// each frame.
///
/// The scroll's clock counts frames, and late frames delay it, so that every strategy shows the
/// same rows.
final class TableThread {
    /// The maximum number of warnings in the report's list.
    private static let maximumWarnings = 10_000

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
    private var isScrollingUp = false
    private var nextFrame = ContinuousClock.now
    private var isAboveLimit = false
    private var resident = (bytes: Int64(0), at: ContinuousClock.now - .seconds(1))
    private var scrollEnd: ContinuousClock.Instant?

    init(
        _ screen: TableScreen, _ strategy: any LoadingStrategy, _ trace: ScrollTrace,
        _ options: RehearsalOptions, _ inbox: Inbox, _ pressure: MemoryPressure
    ) {
        (self.screen, self.strategy, self.trace) = (screen, strategy, trace)
        (self.options, self.inbox, self.pressure) = (options, inbox, pressure)
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

    /// Whether all events were shown, and the last rows have their images or waited too long.
    private var isOver: Bool {
        guard nextEvent == trace.events.count else { return false }
        if screen.isSettled { return true }
        return scrollEnd.map { .now - $0 > .seconds(options.patience) } ?? false
    }

    /// Returns the last due event, because a table is laid out once per frame.
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
            // After the scroll, the clock runs at normal speed.
            let isScrolling = nextEvent < trace.events.count
            scrollTime += FrameTimes.interval / .seconds(1) * (isScrolling ? speed : 1)
        }
        if nextEvent == trace.events.count, scrollEnd == nil { scrollEnd = .now }
        return due
    }

    private func scroll(to event: ScrollEvent) {
        let range = event.rows(of: screen.rows.count)
        // A change of the bottom row alone does not change the direction.
        if range.lowerBound != screen.visible.lowerBound {
            isScrollingUp = range.lowerBound < screen.visible.lowerBound
        }
        let (left, appeared) = screen.show(range)
        // New rows first, because they may share loads with rows that leave.
        appeared.forEach(strategy.load)
        left.forEach(strategy.leave)
        let ahead = options.prefetchAhead
        strategy.prefetch(
            isScrollingUp
                ? max(0, range.lowerBound - ahead)..<range.lowerBound
                : range.upperBound..<min(screen.rows.count, range.upperBound + ahead))
    }

    /// The size of images in caches and cells, in bytes.
    private var held: Int {
        screen.images.reduce(strategy.cachedBytes) {
            $0 + (strategy.caches($1) ? 0 : $1.data.count)
        }
    }

    /// Raises a memory warning each time that images reach the limit.
    private func watchMemory() {
        let before = held
        report.peakHeld = max(report.peakHeld, before)
        guard before >= options.memoryLimit else { return isAboveLimit = false }
        guard !isAboveLimit else { return }
        isAboveLimit = true
        curve.add(time: scrollTime, held: before, resident: resident.bytes)
        pressure.report(.warning)
        report.warningCount += 1
        guard report.warnings.count < Self.maximumWarnings else { return }
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
        // A late frame skips display refreshes.
        if nextFrame < now { nextFrame = now + frame }
        inbox.wait(
            until: Date(timeIntervalSinceNow: (nextFrame - now) / .seconds(1)),
            orArrival: isPacedByImages)
    }
}
