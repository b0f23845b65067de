import Foundation
import Testing

@testable import LarderIcons

@Suite(.timeLimit(.minutes(30))) struct SharedWorkTests {
    /// Shared work that the test finishes.
    private final class ManualWork: @unchecked Sendable {
        // Unchecked because of its variables; every access holds `lock`.
        private let lock = NSLock()
        private var finishes: [SharedWork<Int>.Finish] = []
        private var cancellations = 0
        let work = SharedWork<Int>()

        var starts: Int { lock.withLock { finishes.count } }
        var cancelled: Int { lock.withLock { cancellations } }

        func start(_ finish: @escaping SharedWork<Int>.Finish) -> @Sendable () -> Void {
            lock.withLock { finishes.append(finish) }
            return { [self] in lock.withLock { cancellations += 1 } }
        }

        func finish(_ number: Int, _ result: Result<Int, any Error>) {
            lock.withLock { finishes[number] }(result)
        }

        func request(_ key: String = "a") -> Task<Int, any Error> {
            Task { try await work.value(for: key) { start($0) } }
        }

        /// Lets other tasks run until the work has this number of callers.
        func wait(forCallers count: Int) async {
            while work.callers != count { await Task.yield() }
        }
    }

    private struct Fault: Error, Equatable {}

    @Test func sharedWorkStartsOnceForAllCallers() async throws {
        let manual = ManualWork()
        let tasks = (0..<20).map { _ in manual.request() }
        await manual.wait(forCallers: 20)
        #expect(manual.starts == 1)
        manual.finish(0, .success(7))
        for task in tasks { #expect(try await task.value == 7) }
        #expect(manual.work.count == 0 && manual.cancelled == 0)
    }

    @Test func differentKeysDoNotShareWork() async throws {
        let manual = ManualWork()
        let (a, b) = (manual.request("a"), manual.request("b"))
        await manual.wait(forCallers: 2)
        #expect(manual.starts == 2)
        manual.finish(0, .success(1))
        manual.finish(1, .success(1))
        #expect(try await a.value == 1)
        #expect(try await b.value == 1)
    }

    @Test func anErrorReachesAllCallersAndIsNotRemembered() async throws {
        let manual = ManualWork()
        let tasks = [manual.request(), manual.request()]
        await manual.wait(forCallers: 2)
        manual.finish(0, .failure(Fault()))
        for task in tasks { await #expect(throws: Fault.self) { try await task.value } }
        let again = manual.request()
        await manual.wait(forCallers: 1)
        manual.finish(1, .success(2))
        #expect(try await again.value == 2)
    }

    @Test func sharedWorkContinuesIfOneCallerIsCancelled() async throws {
        let manual = ManualWork()
        let (one, other) = (manual.request(), manual.request())
        await manual.wait(forCallers: 2)
        one.cancel()
        await #expect(throws: CancellationError.self) { try await one.value }
        #expect(manual.cancelled == 0 && manual.work.count == 1)
        manual.finish(0, .success(3))
        #expect(try await other.value == 3)
    }

    @Test func sharedWorkIsCancelledWithItsLastCaller() async throws {
        let manual = ManualWork()
        let tasks = [manual.request(), manual.request()]
        await manual.wait(forCallers: 2)
        for task in tasks { task.cancel() }
        for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
        #expect(manual.cancelled == 1 && manual.work.count == 0)

        // The result of the cancelled work does not reach later callers.
        let next = manual.request()
        await manual.wait(forCallers: 1)
        #expect(manual.starts == 2)
        manual.finish(0, .success(4))
        manual.finish(1, .success(5))
        #expect(try await next.value == 5)
    }

    @Test func sharedWorkDoesNotStartForACancelledCaller() async throws {
        let manual = ManualWork()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await manual.work.value(for: "a") { manual.start($0) }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(manual.starts == 0 && manual.work.count == 0)
    }

    @Test func sharedWorkMayFinishWhileItStarts() async throws {
        let work = SharedWork<Int>()
        let value = try await work.value(for: "a") { finish in
            finish(.success(6))
            return {}
        }
        #expect(value == 6 && work.count == 0)
    }

    /// In any order of cancellations and results, each caller resumes once and no work remains.
    @Test func everyCallerResumesOnceDespiteCancellations() async throws {
        let work = SharedWork<Int>()
        let queue = OperationQueue()
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<2_000 {
                group.addTask {
                    let key = "\(number % 7)"
                    let task = Task {
                        try await work.value(for: key) { finish in
                            let operation = BlockOperation { finish(.success(number % 7)) }
                            queue.addOperation(operation)
                            return { operation.cancel() }
                        }
                    }
                    if number % 3 == 0 { task.cancel() }
                    switch await task.result {
                    case .success(let value): #expect(value == number % 7)
                    case .failure(let error): #expect(error is CancellationError)
                    }
                }
            }
        }
        #expect(work.count == 0)
    }
}
