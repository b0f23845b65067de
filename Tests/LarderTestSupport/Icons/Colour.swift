/// A colour with eight bits per channel.
struct Colour: Hashable {
    var red: UInt8
    var green: UInt8
    var blue: UInt8

    static let ink = Colour(red: 250, green: 250, blue: 250)
    static let accent = Colour(red: 255, green: 205, blue: 60)

    init(red: UInt8, green: UInt8, blue: UInt8) {
        (self.red, self.green, self.blue) = (red, green, blue)
    }

    /// Creates a saturated colour. The hue is in degrees and the brightness in 0...255.
    init(hue: Int, brightness: Int) {
        let sector = hue % 360 / 60
        let low = brightness * 3 / 10
        let rising = low + (brightness - low) * (hue % 60) / 60
        let falling = low + (brightness - low) * (60 - hue % 60) / 60
        let (red, green, blue) =
            switch sector {
            case 0: (brightness, rising, low)
            case 1: (falling, brightness, low)
            case 2: (low, brightness, rising)
            case 3: (low, falling, brightness)
            case 4: (rising, low, brightness)
            default: (brightness, low, falling)
            }
        self.init(red: UInt8(red), green: UInt8(green), blue: UInt8(blue))
    }

    var hex: String {
        [red, green, blue].reduce("#") { text, channel in
            text + (channel < 16 ? "0" : "") + String(channel, radix: 16)
        }
    }
}
