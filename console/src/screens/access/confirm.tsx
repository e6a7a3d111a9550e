import { useWords } from '../../app/language.js'
import { Button } from '../../parts/form/button.js'
import { Dialog } from '../../parts/shell/dialog.js'
import { FormError } from '../../parts/shell/gate.js'
import { messageOf } from '../../parts/shell/states.js'
import { partWords } from '../../parts/words.js'
import { words as screenWords } from './words.js'

interface ConfirmProps {
  open: boolean
  title: string
  about: string
  act: string
  mutation: { isPending: boolean; error: Error | null; reset(): void }
  onConfirm(): void
  onClose(): void
}

/** Asks before something that cannot be taken back. */
export function Confirm({ open, title, about, act, mutation, onConfirm, onClose }: ConfirmProps) {
  const words = useWords(screenWords)
  const { unreachable } = useWords(partWords)
  const close = (): void => {
    mutation.reset()
    onClose()
  }
  return (
    <Dialog
      open={open}
      onClose={close}
      title={title}
      about={about}
      actions={
        <>
          <Button onClick={close}>{words.cancel}</Button>
          <Button look="danger" busy={mutation.isPending} onClick={onConfirm}>
            {act}
          </Button>
        </>
      }
    >
      <FormError message={mutation.error === null ? null : messageOf(mutation.error, unreachable)} />
    </Dialog>
  )
}
