#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// How this process converts the name of a host with characters beyond ASCII to its ASCII form
/// (`xn--`, UTS #46). Without a converter, ``HTTPURL`` refuses such hosts.
///
/// `larder` uses libcurl's (`CurlHosts`), and an app with LarderIcons Foundation's.
public enum InternationalHosts {
    /// Returns the ASCII form of a name; nil if the name is not valid.
    public typealias Converter = @Sendable (String) -> String?

    /// Installs the converter of the process. The first one stays: equal texts have to be equal
    /// URLs as long as the process runs.
    public static func install(_ converter: @escaping Converter) {
        withLock { if installed == nil { installed = converter } }
    }

    static var converter: Converter? { withLock { installed } }

    // Unsafe because the compiler sees no lock around it. Safe because only `withLock` uses it.
    private nonisolated(unsafe) static var installed: Converter?
    // Unsafe to share as a pointer. Safe because it is made once, for locking only, and never
    // freed.
    private nonisolated(unsafe) static let lock = {
        let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        pthread_mutex_init(lock, nil)
        return lock
    }()

    // Not a `Mutex`, which iOS 16 lacks, nor an `NSLock`, which is Foundation's.
    private static func withLock<Value>(_ body: () -> Value) -> Value {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        return body()
    }
}
