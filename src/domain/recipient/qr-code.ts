import { toSVG } from 'bwip-js/node'

/** Level M: readable with 15 % of it lost, as on a folded or stained sheet. */
const QR = { bcid: 'qrcode', eclevel: 'M', paddingwidth: 0, paddingheight: 0 } as const

/** An SVG without margins; whoever shows it leaves the white space around it. */
export const qrCode = (text: string): string => toSVG({ ...QR, text })
