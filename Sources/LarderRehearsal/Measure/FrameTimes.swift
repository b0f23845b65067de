/// How long the main thread worked for each frame.
package struct FrameTimes: Sendable, Codable, Equatable {
    /// A sixtieth of a second.
    package static let interval = Duration.nanoseconds(16_666_667)
    /// Beyond it a frame is late, in seconds.
    private static let limit = 0.0167

    package private(set) var count = 0
    /// Frames whose work took longer than 16.7 ms.
    package private(set) var frozen = 0
    /// The longest work for one frame, in seconds.
    package private(set) var longest = 0.0

    package init() {}

    package mutating func add(_ work: Duration) {
        let seconds = work / .seconds(1)
        count += 1
        if seconds > Self.limit { frozen += 1 }
        longest = max(longest, seconds)
    }
}
