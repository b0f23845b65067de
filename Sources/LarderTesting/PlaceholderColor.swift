import Foundation

/// The colour of the image that ``OfflineIcons`` returns instead of a missing icon.
public struct PlaceholderColor: Sendable, Equatable {
    /// A colour that icons rarely have.
    public static let magenta = PlaceholderColor(red: 255, green: 0, blue: 255)

    /// The components in sRGB.
    public let red, green, blue: UInt8

    /// Creates a colour from its components in sRGB.
    public init(red: UInt8, green: UInt8, blue: UInt8) {
        (self.red, self.green, self.blue) = (red, green, blue)
    }

    /// The PNG image. Only its palette depends on the colour.
    var image: Data {
        let palette = Array("PLTE".utf8) + [red, green, blue]
        var checksum = ~UInt32(0)
        for byte in palette {
            checksum ^= UInt32(byte)
            for _ in 0..<8 {
                checksum = checksum & 1 == 1 ? checksum >> 1 ^ 0xEDB8_8320 : checksum >> 1
            }
        }
        return Self.header + [0, 0, 0, 3] + palette
            + withUnsafeBytes(of: (~checksum).bigEndian) { Data($0) } + Self.pixels
    }

    private static let header = Data(
        base64Encoded: "iVBORw0KGgoAAAANSUhEUgAAAEAAAABAAQMAAACQp+Od")!
    private static let pixels = Data(
        base64Encoded: "AAAAD0lEQVR42mNgGAWjgHwAAAJAAAHgTR1EAAAAAElFTkSuQmCC")!
}
