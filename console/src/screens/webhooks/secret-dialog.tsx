import type { WebhookSecret } from '../../../../src/http/console/operation/webhooks-schema.js'
import { useWords } from '../../app/language.js'
import { Button } from '../../parts/form/button.js'
import { CopyButton } from '../../parts/form/copy-button.js'
import { Dialog } from '../../parts/shell/dialog.js'
import { words as screenWords } from './words.js'

/** Shown once: it lives in the memory of this page alone. */
export function SecretDialog({ secret, onClose }: { secret: WebhookSecret | null; onClose(): void }) {
  const words = useWords(screenWords)
  return (
    <Dialog
      open={secret !== null}
      onClose={onClose}
      title={words.rotated}
      about={words.secretAbout}
      actions={
        <Button look="primary" onClick={onClose}>
          {words.copied}
        </Button>
      }
    >
      {secret !== null && (
        <div className="flex flex-col items-start gap-3">
          <code className="w-full rounded-lg bg-sunken p-3 font-mono text-[0.93rem] break-all">{secret.secret}</code>
          <CopyButton text={secret.secret} />
        </div>
      )}
    </Dialog>
  )
}
