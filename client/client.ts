export type { UploadOptions } from './bulk.js'
export { Carteiro, type SendOptions } from './carteiro.js'
export { type CallOptions, CarteiroError, type ClientOptions, NoAnswerError } from './request.js'
export type * from './types.js'
export {
  type VerifyOptions,
  verifyWebhook,
  WebhookError,
  type WebhookEvent,
  type WebhookEventV1,
  type WebhookHeaders,
} from './webhooks.js'
