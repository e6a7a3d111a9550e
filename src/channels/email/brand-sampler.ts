import { brandSample } from '../brand-sample.js'
import type { BrandSampler } from '../channel.js'
import { shownLogo } from './logos.js'
import { encloseContent } from './message/enclose.js'
import { makeFrame } from './preparation.js'

/** No image is asked for: the sample records no reading. */
const NO_IMAGE = 'data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=='

export const brandSampler: BrandSampler = {
  async show({ accountName, settings, logo, publicUrl }) {
    const { subject, recipientName, content, path } = brandSample
    const links = { base: publicUrl, link: `${publicUrl}${path}`, image: NO_IMAGE }
    const frame = makeFrame({ accountName, settings, subject, recipientName }, logo && shownLogo(logo), links)
    return { type: 'text/html; charset=utf-8', body: encloseContent(content, frame).html }
  },
}
