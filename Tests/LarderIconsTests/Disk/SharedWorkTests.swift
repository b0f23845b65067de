import Foundation
import Testing

@testable import LarderIcons

@Suite(.timeLimit(.minutes(5))) struct SharedWorkTests {
    /// Work that ends when the test says so.
    private final class Bench: @unchecked Sendable {
        private let lock = NSLock()
        private var finishes: [SharedWork<Int>.Finish] = []
        private var givenUpCount = 0
        let work = SharedWork<Int>()

        var starts: Int { lock.withLock { finishes.count } }
        var givenUp: Int { lock.withLock { givenUpCount } }

        func start(_ finish: @escaping SharedWork<Int>.Finish) -> @Sendable () -> Void {
            lock.withLock { finishes.append(finish) }
            return { [self] in lock.withLock { givenUpCount += 1 } }
        }

        func finish(_ number: Int, _ result: Result<Int, any Error>) {
            lock.withLock { finishes[number] }(result)
        }

        func ask(_ key: String = "a") -> Task<Int, any Error> {
            Task { try await work.value(for: key) { start($0) } }
        }

        /// Lets other tasks run until the work has so many callers.
        func wait(forCallers count: Int) async {
            while work.callers != count { await Task.yield() }
        }
    }

    private struct Fault: Error, Equatable {}

    @Test func isDoneOnceForAllWhoWait() async throws {
        let bench = Bench()
        let tasks = (0..<20).map { _ in bench.ask() }
        await bench.wait(forCallers: 20)
        #expect(bench.starts == 1)
        bench.finish(0, .success(7))
        for task in tasks { #expect(try await task.value == 7) }
        #expect(bench.work.count == 0 && bench.givenUp == 0)
    }

    @Test func keysAreApart() async throws {
        let bench = Bench()
        let (a, b) = (bench.ask("a"), bench.ask("b"))
        await bench.wait(forCallers: 2)
        #expect(bench.starts == 2)
        bench.finish(0, .success(1))
        bench.finish(1, .success(1))
        #expect(try await a.value == 1)
        #expect(try await b.value == 1)
    }

    @Test func anErrorIsEverybodysAndIsNotKept() async throws {
        let bench = Bench()
        let tasks = [bench.ask(), bench.ask()]
        await bench.wait(forCallers: 2)
        bench.finish(0, .failure(Fault()))
        for task in tasks { await #expect(throws: Fault.self) { try await task.value } }
        let again = bench.ask()
        await bench.wait(forCallers: 1)
        bench.finish(1, .success(2))
        #expect(try await again.value == 2)
    }

    @Test func goesOnForTheOthersIfOneIsCancelled() async throws {
        let bench = Bench()
        let (one, other) = (bench.ask(), bench.ask())
        await bench.wait(forCallers: 2)
        one.cancel()
        await #expect(throws: CancellationError.self) { try await one.value }
        #expect(bench.givenUp == 0 && bench.work.count == 1)
        bench.finish(0, .success(3))
        #expect(try await other.value == 3)
    }

    @Test func isGivenUpWhenTheLastIsCancelled() async throws {
        let bench = Bench()
        let tasks = [bench.ask(), bench.ask()]
        await bench.wait(forCallers: 2)
        for task in tasks { task.cancel() }
        for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
        #expect(bench.givenUp == 1 && bench.work.count == 0)

        // What was given up says nothing to whoever asks later.
        let next = bench.ask()
        await bench.wait(forCallers: 1)
        #expect(bench.starts == 2)
        bench.finish(0, .success(4))
        bench.finish(1, .success(5))
        #expect(try await next.value == 5)
    }

    @Test func doesNotBeginForWhoIsCancelledAlready() async throws {
        let bench = Bench()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await bench.work.value(for: "a") { bench.start($0) }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(bench.starts == 0 && bench.work.count == 0)
    }

    @Test func mayEndAsItBegins() async throws {
        let work = SharedWork<Int>()
        let value = try await work.value(for: "a") { finish in
            finish(.success(6))
            return {}
        }
        #expect(value == 6 && work.count == 0)
    }

    /// Whatever the order of cancellations and ends: everybody hears once, and nothing is left.
    @Test func everybodyHearsOfItWhoeverIsCancelled() async throws {
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
