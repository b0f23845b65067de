/// How thorough a verification is, and how long it may take.
public struct VerifyOptions: Sendable {
    /// Which objects are looked at. Default: all.
    public var selection = VerifySelection.all
    /// Whether sizes are compared, and only files of another size than the index states are read.
    /// Default: false.
    public var isQuick = false
    /// After this long no further directory is begun, and the next verification of the same
    /// selection that is limited, too, and as quick or thorough, goes on there. Default: nil, no
    /// limit. At least one directory is verified. Only with ``VerifySelection/all`` and
    /// ``VerifySelection/part(_:of:)``, and if the cache can be written.
    public var maximumDuration: Duration?

    /// Asked often, from any thread: true ends the verification within moments, as if the time were
    /// up. Default: never.
    public var isCancelled: @Sendable () -> Bool = { false }

    /// The defaults.
    public init() {}

    /// Names what can be continued: a quick verification says nothing of what a thorough one has
    /// left. Nil if the next one selects anew.
    var positionName: String? { selection.name.map { isQuick ? "\($0) quick" : $0 } }
}
