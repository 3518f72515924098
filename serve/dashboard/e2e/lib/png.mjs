// Makes pictures of the page small: at most 256 colours, which are enough for text and charts,
// and the strongest compression.
import { deflateSync, inflateSync } from "node:zlib";

const signature = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);

/** Converts a picture to one with a palette. It must have 8 bits per channel and not be interlaced. */
export function small(png) {
  const { width, height, channels, pixels } = decode(png);
  const { palette, indices } = quantize(pixels, channels);
  const rows = Buffer.alloc(height * (width + 1));
  for (let y = 0; y < height; y++) rows.set(indices.subarray(y * width, (y + 1) * width), y * (width + 1) + 1);
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8); // 8 bits, palette
  return Buffer.concat([signature, chunk("IHDR", head), chunk("PLTE", palette), chunk("IDAT", deflateSync(rows, { level: 9, memLevel: 9 })), chunk("IEND", Buffer.alloc(0))]);
}

function decode(png) {
  const data = [];
  let head;
  for (let at = signature.length; at < png.length; ) {
    const size = png.readUInt32BE(at);
    const kind = png.toString("latin1", at + 4, at + 8);
    const body = png.subarray(at + 8, at + 8 + size);
    if (kind === "IHDR") head = body;
    if (kind === "IDAT") data.push(body);
    at += size + 12;
  }
  const [width, height, channels] = [head.readUInt32BE(0), head.readUInt32BE(4), { 2: 3, 6: 4 }[head[9]]];
  if (head[8] !== 8 || !channels || head[12] !== 0) throw new Error("a picture of this kind is not known");
  return { width, height, channels, pixels: unfilter(inflateSync(Buffer.concat(data)), width * channels, height, channels) };
}

/** Undoes the filters of rows (PNG specification, section 9). */
function unfilter(raw, stride, height, channels) {
  const out = new Uint8Array(stride * height);
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (stride + 1)];
    for (let x = 0; x < stride; x++) {
      const a = x >= channels ? out[y * stride + x - channels] : 0;
      const b = y > 0 ? out[(y - 1) * stride + x] : 0;
      const c = x >= channels && y > 0 ? out[(y - 1) * stride + x - channels] : 0;
      const add = [0, a, b, (a + b) >> 1, paeth(a, b, c)][filter];
      out[y * stride + x] = raw[y * (stride + 1) + 1 + x] + add;
    }
  }
  return out;
}

function paeth(a, b, c) {
  const [pa, pb, pc] = [Math.abs(b - c), Math.abs(a - c), Math.abs(a + b - 2 * c)];
  return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
}

/** The 256 most frequent colours, at five bits per channel, and the nearest of them for each pixel. */
function quantize(pixels, channels) {
  const groups = new Map();
  for (let i = 0; i < pixels.length; i += channels) {
    const key = ((pixels[i] >> 3) << 10) | ((pixels[i + 1] >> 3) << 5) | (pixels[i + 2] >> 3);
    const g = groups.get(key);
    if (g) g.n++;
    else groups.set(key, { key, n: 1, rgb: [pixels[i], pixels[i + 1], pixels[i + 2]] });
  }
  const chosen = [...groups.values()].sort((a, b) => b.n - a.n).slice(0, 256);
  const distance = (a, b) => (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2;
  for (const g of groups.values()) {
    g.index = chosen.reduce((best, c, i) => (distance(c.rgb, g.rgb) < distance(chosen[best].rgb, g.rgb) ? i : best), 0);
  }
  const indices = new Uint8Array(pixels.length / channels);
  for (let i = 0, p = 0; i < pixels.length; i += channels, p++) {
    indices[p] = groups.get(((pixels[i] >> 3) << 10) | ((pixels[i + 1] >> 3) << 5) | (pixels[i + 2] >> 3)).index;
  }
  return { palette: Buffer.from(chosen.flatMap((c) => c.rgb)), indices };
}

function chunk(kind, body) {
  const named = Buffer.concat([Buffer.from(kind, "latin1"), body]);
  const out = Buffer.alloc(body.length + 12);
  out.writeUInt32BE(body.length, 0);
  out.set(named, 4);
  out.writeUInt32BE(crc(named), body.length + 8);
  return out;
}

const table = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n;
});

function crc(data) {
  let c = 0xffffffff;
  for (const byte of data) c = table[(c ^ byte) & 0xff] ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
}
