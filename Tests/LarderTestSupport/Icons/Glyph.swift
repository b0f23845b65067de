/// The picture on an icon: shapes on a square of 64 × 64 units.
public enum Glyph: String, CaseIterable, Sendable {
    case bag, book, calendar, camera, chart, chat, clock, down, film, game, heart, house, key
    case leaf, lock, mail, mountain, music, notes, phone, pin, search, star, up, weather

    enum Paint { case ink, deep, accent }

    enum Shape {
        case disc(x: Double, y: Double, radius: Double)
        case box(x: Double, y: Double, width: Double, height: Double, radius: Double)
        case polygon([(x: Double, y: Double)])

        func contains(_ px: Double, _ py: Double) -> Bool {
            switch self {
            case .disc(let x, let y, let radius):
                return (px - x) * (px - x) + (py - y) * (py - y) <= radius * radius
            case .box(let x, let y, let width, let height, let radius):
                guard px >= x, py >= y, px <= x + width, py <= y + height else { return false }
                let dx = max(x + radius - px, px - (x + width - radius), 0)
                let dy = max(y + radius - py, py - (y + height - radius), 0)
                return dx * dx + dy * dy <= radius * radius
            case .polygon(let points):
                var isInside = false
                var last = points[points.count - 1]
                for point in points {
                    let crosses = (point.y > py) != (last.y > py)
                    if crosses,
                        px < (last.x - point.x) * (py - point.y) / (last.y - point.y) + point.x
                    {
                        isInside.toggle()
                    }
                    last = point
                }
                return isInside
            }
        }
    }

    /// The shapes from bottom to top.
    var layers: [(Paint, Shape)] {
        switch self {
        case .bag:
            [
                (.ink, .disc(x: 32, y: 24, radius: 10)), (.deep, .disc(x: 32, y: 24, radius: 6)),
                box(.ink, 16, 24, 32, 26, 4), box(.accent, 16, 30, 32, 4),
            ]
        case .book:
            [
                box(.ink, 14, 16, 17, 32, 2), box(.ink, 33, 16, 17, 32, 2),
                box(.deep, 18, 22, 9, 3), box(.deep, 18, 29, 9, 3), box(.deep, 37, 22, 9, 3),
                (.accent, .polygon([(37, 30), (45, 30), (45, 44), (41, 40), (37, 44)])),
            ]
        case .calendar:
            [
                box(.ink, 14, 16, 36, 34, 4), box(.accent, 14, 16, 36, 9, 3),
                box(.deep, 20, 30, 6, 6), box(.deep, 29, 30, 6, 6), box(.deep, 38, 30, 6, 6),
                box(.deep, 20, 40, 6, 6), box(.deep, 29, 40, 6, 6), box(.ink, 20, 12, 4, 8, 2),
                box(.ink, 40, 12, 4, 8, 2),
            ]
        case .camera:
            [
                box(.ink, 24, 16, 16, 10, 3), box(.ink, 12, 22, 40, 26, 5),
                (.deep, .disc(x: 32, y: 35, radius: 10)), (.ink, .disc(x: 32, y: 35, radius: 6)),
                (.accent, .disc(x: 46, y: 28, radius: 2.5)),
            ]
        case .chart:
            [
                box(.ink, 14, 36, 8, 12, 1), box(.ink, 25, 28, 8, 20, 1),
                box(.accent, 36, 20, 8, 28, 1), box(.ink, 12, 49, 40, 3, 1),
            ]
        case .chat:
            [
                box(.ink, 12, 16, 40, 26, 9), (.ink, .polygon([(20, 40), (20, 52), (32, 40)])),
                (.deep, .disc(x: 23, y: 29, radius: 3)), (.deep, .disc(x: 32, y: 29, radius: 3)),
                (.accent, .disc(x: 41, y: 29, radius: 3)),
            ]
        case .clock:
            [
                (.ink, .disc(x: 32, y: 32, radius: 20)), (.deep, .disc(x: 32, y: 32, radius: 16)),
                box(.ink, 30, 20, 4, 14, 2), box(.accent, 30, 30, 12, 4, 2),
            ]
        case .down:
            [(.ink, arrow(pointing: 1)), box(.accent, 18, 50, 28, 4, 2)]
        case .film:
            [
                box(.ink, 12, 18, 40, 28, 3), box(.deep, 15, 21, 4, 4), box(.deep, 15, 30, 4, 4),
                box(.deep, 15, 39, 4, 4), box(.deep, 45, 21, 4, 4), box(.deep, 45, 30, 4, 4),
                box(.deep, 45, 39, 4, 4), (.accent, .polygon([(27, 24), (39, 32), (27, 40)])),
            ]
        case .game:
            [
                box(.ink, 10, 22, 44, 22, 11), box(.deep, 18, 31, 12, 4), box(.deep, 22, 27, 4, 12),
                (.accent, .disc(x: 39, y: 36, radius: 3)),
                (.accent, .disc(x: 45, y: 30, radius: 3)),
            ]
        case .heart:
            [
                (.ink, .disc(x: 24, y: 26, radius: 9.5)), (.ink, .disc(x: 40, y: 26, radius: 9.5)),
                (.ink, .polygon([(15.5, 30), (32, 24), (48.5, 30), (32, 50)])),
                (.accent, .disc(x: 23, y: 25, radius: 3)),
            ]
        case .house:
            [
                (.ink, .polygon([(32, 12), (54, 32), (10, 32)])), box(.ink, 16, 31, 32, 19, 1),
                box(.deep, 27, 37, 10, 13), (.accent, .disc(x: 32, y: 26, radius: 4)),
            ]
        case .key:
            [
                (.ink, .disc(x: 22, y: 32, radius: 11)), (.deep, .disc(x: 22, y: 32, radius: 5)),
                box(.ink, 32, 29, 22, 6, 1), box(.ink, 42, 32, 4, 10), box(.accent, 49, 32, 4, 8),
            ]
        case .leaf:
            [
                (.ink, .disc(x: 30, y: 30, radius: 16)), box(.ink, 30, 14, 18, 16),
                (.deep, .polygon([(40, 20), (43, 23), (17, 51), (14, 48)])),
                (.accent, .disc(x: 24, y: 25, radius: 3)),
            ]
        case .lock:
            [
                (.ink, .disc(x: 32, y: 25, radius: 12)), (.deep, .disc(x: 32, y: 25, radius: 7)),
                box(.ink, 15, 27, 34, 24, 4), (.accent, .disc(x: 32, y: 37, radius: 4)),
                box(.accent, 30, 38, 4, 8, 1),
            ]
        case .mail:
            [
                box(.ink, 11, 18, 42, 28, 4),
                (.deep, .polygon([(13, 20), (32, 36), (51, 20), (51, 24), (32, 40), (13, 24)])),
                (.accent, .disc(x: 50, y: 19, radius: 5)),
            ]
        case .mountain:
            [
                (.accent, .disc(x: 43, y: 22, radius: 6)),
                (.ink, .polygon([(26, 18), (46, 50), (8, 50)])),
                (.deep, .polygon([(42, 32), (56, 50), (31, 50)])),
            ]
        case .music:
            [
                (.ink, .disc(x: 22, y: 44, radius: 7)), (.ink, .disc(x: 42, y: 40, radius: 7)),
                box(.ink, 25, 18, 4, 26), box(.ink, 45, 14, 4, 26),
                (.accent, .polygon([(25, 18), (49, 13), (49, 20), (25, 25)])),
            ]
        case .notes:
            [
                box(.ink, 16, 12, 32, 40, 3), box(.deep, 21, 20, 22, 3), box(.deep, 21, 27, 22, 3),
                box(.deep, 21, 34, 14, 3), (.accent, .polygon([(38, 52), (48, 42), (48, 52)])),
            ]
        case .phone:
            [
                box(.ink, 20, 10, 24, 44, 5), box(.deep, 23, 16, 18, 28),
                (.accent, .disc(x: 32, y: 49, radius: 2.5)),
            ]
        case .pin:
            [
                (.ink, .disc(x: 32, y: 26, radius: 14)),
                (.ink, .polygon([(19.5, 32), (44.5, 32), (32, 54)])),
                (.accent, .disc(x: 32, y: 26, radius: 6)),
            ]
        case .search:
            [
                (.ink, .polygon([(37, 33), (53, 48), (48, 53), (33, 37)])),
                (.ink, .disc(x: 28, y: 28, radius: 15)), (.deep, .disc(x: 28, y: 28, radius: 10)),
                (.accent, .disc(x: 24, y: 24, radius: 3)),
            ]
        case .star:
            [
                (
                    .ink,
                    .polygon([
                        (32, 10), (38, 26), (55, 26), (41, 36), (46, 53), (32, 43), (18, 53),
                        (23, 36), (9, 26), (26, 26),
                    ])
                ),
                (.accent, .disc(x: 32, y: 33, radius: 4)),
            ]
        case .up:
            [(.ink, arrow(pointing: -1)), box(.accent, 18, 10, 28, 4, 2)]
        case .weather:
            [
                (.accent, .disc(x: 40, y: 24, radius: 11)), (.ink, .disc(x: 22, y: 38, radius: 9)),
                (.ink, .disc(x: 34, y: 34, radius: 11)), (.ink, .disc(x: 44, y: 40, radius: 7)),
                box(.ink, 20, 38, 26, 9, 4),
            ]
        }
    }

    private func box(
        _ paint: Paint, _ x: Double, _ y: Double, _ width: Double, _ height: Double,
        _ radius: Double = 0
    ) -> (Paint, Shape) {
        (paint, .box(x: x, y: y, width: width, height: height, radius: radius))
    }

    /// Returns an arrow that points down (1) or up (-1).
    private func arrow(pointing direction: Double) -> Shape {
        let outline = [(28, -16), (36, -16), (36, 0), (46, 0), (32, 16), (18, 0), (28, 0)]
        return .polygon(outline.map { (Double($0), 32 + direction * Double($1)) })
    }
}
