import Foundation

/// Functions that start threads, and report if a thread cannot be started. libdispatch would retry
/// without limit, and Foundation's `Thread` would silently never run.
package enum HelperThread {
    package static var shortage: CacheError { shortage(isOfRoom: !hasRoom(usualThread)) }

    private static func shortage(isOfRoom: Bool) -> CacheError {
        CacheError(
            unusable: isOfRoom ? "memory" : "threads",
            isOfRoom
                ? "the limit on address space is too low (ulimit -v)"
                : "the limit on processes and threads is too low (ulimit -u, or pids.max of the"
                    + " control group)")
    }

    package static func start(
        stackSize: Int? = nil, _ body: @escaping @Sendable () -> Void
    ) -> Bool {
        guard let thread = make(stackSize: stackSize, body) else { return false }
        pthread_detach(thread)
        return true
    }

    /// Calls `body` with each number below `count`, on this thread and up to `count - 1` new
    /// threads, and waits. A thread gets several numbers if others cannot start.
    static func share(_ count: Int, _ body: @Sendable (Int) -> Void) {
        let next = Counter(0)
        withoutActuallyEscaping(body) { body in
            @Sendable func work() {
                while case let number = next.next() - 1, number < count { body(number) }
            }
            var helpers: [pthread_t] = []
            while helpers.count < count - 1, let helper = make(work) { helpers.append(helper) }
            work()
            for helper in helpers { pthread_join(helper, nil) }
        }
    }

    /// Throws unless `count` threads can start and ``room`` bytes can be mapped. The default is the
    /// number of threads that transfers need. If one cannot start, libdispatch waits forever.
    package static func require(_ count: Int = 24) throws(CacheError) {
        // The threads wait for this lock, so that all exist at the same time.
        let gate = NSLock()
        gate.lock()
        var threads: [pthread_t] = []
        while threads.count < count, let thread = make({ gate.withLock {} }) {
            threads.append(thread)
        }
        let isOfRoom = !hasRoom(threads.count == count ? room : usualThread)
        gate.unlock()
        for thread in threads { pthread_join(thread, nil) }
        if isOfRoom || threads.count < count { throw shortage(isOfRoom: isOfRoom) }
    }

    private static func make(
        stackSize: Int? = nil, _ body: @escaping @Sendable () -> Void
    ) -> pthread_t? {
        // The new thread inherits this mask, so the program's own threads handle external signals.
        var (blocked, previous) = (sigset_t(), sigset_t())
        sigfillset(&blocked)
        for signal in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT] {
            sigdelset(&blocked, signal)
        }
        pthread_sigmask(SIG_SETMASK, &blocked, &previous)
        defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        if let stackSize { pthread_attr_setstacksize(&attributes, stackSize) }
        #if canImport(Darwin)
            var thread: pthread_t?
        #else
            var thread = pthread_t()
        #endif
        // Unmanaged because C passes a pointer. The new thread releases the object.
        let work = Unmanaged.passRetained(Work(body))
        let code = pthread_create(&thread, &attributes, { HelperThread.run($0) }, work.toOpaque())
        guard code == 0 else {
            work.release()
            return nil
        }
        return thread
    }

    private final class Work: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    private static func run(_ work: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        // Retained because `make` passes its reference to the thread.
        if let work { Unmanaged<Work>.fromOpaque(work).takeRetainedValue().body() }
        return nil
    }

    /// The address space of a new thread in bytes: 8 MiB of stack and, with glibc, 64 MiB of heap.
    private static let usualThread = 72 << 20

    /// The address space in bytes that must remain free while the threads run.
    private static let room = 96 << 20

    static func hasRoom(_ count: Int) -> Bool {
        let place = mmap(nil, count, PROT_NONE, MAP_PRIVATE | MAP_ANON, -1, 0)
        guard let place, place != MAP_FAILED else { return false }
        munmap(place, count)
        return true
    }
}

/// A value protected by a lock. (`Mutex` needs iOS 18.)
final class Locked<Value>: @unchecked Sendable {
    // Unchecked because `lock` guards `value`.
    private let lock = NSLock()
    private var value: Value

    init(_ value: Value) { self.value = value }

    func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        try lock.withLock { try body(&value) }
    }
}

typealias Counter = Locked<Int>

extension Locked<Int> {
    func next() -> Int {
        withLock { value in
            value += 1
            return value
        }
    }
}
