import { defineWords, useWords } from '../../app/language.js'
import { PasswordField } from './field.js'

const passwordWords = defineWords(
  {
    label: 'Senha',
    new: 'Senha nova',
    hint: (least: number) => `Pelo menos ${least} caracteres. Uma frase de quatro palavras serve bem.`,
    strength: ['Muito fraca', 'Fraca', 'Boa', 'Forte'],
  },
  {
    label: 'Password',
    new: 'New password',
    hint: (least: number) => `At least ${least} characters. A phrase of four words does well.`,
    strength: ['Very weak', 'Weak', 'Good', 'Strong'],
  },
)

/** A hint only: length counts most, then variety. The gateway decides. */
function strengthOf(password: string, least: number): 0 | 1 | 2 | 3 {
  const variety = new Set(password).size
  if (password.length < least || variety < 5) return password.length < least / 2 ? 0 : 1
  return password.length >= least + 6 && variety >= 9 ? 3 : 2
}

const colors = ['bg-bad', 'bg-warn', 'bg-busy', 'bg-good']

export function NewPasswordField({
  value,
  onChange,
  least,
  isChange = false,
}: {
  value: string
  onChange(value: string): void
  least: number
  isChange?: boolean
}) {
  const words = useWords(passwordWords)
  const strength = strengthOf(value, least)
  return (
    <PasswordField
      label={isChange ? words.new : words.label}
      autoComplete="new-password"
      required
      minLength={least}
      value={value}
      onChange={event => onChange(event.target.value)}
      hint={
        <>
          {words.hint(least)}
          {value !== '' && (
            <span className="mt-1.5 flex items-center gap-2" aria-live="polite">
              <span className="flex flex-1 gap-1" aria-hidden="true">
                {colors.map((color, level) => (
                  <span
                    key={color}
                    className={`h-1.5 flex-1 rounded-full ${level <= strength ? colors[strength] : 'bg-sunken'}`}
                  />
                ))}
              </span>
              {words.strength[strength]}
            </span>
          )}
        </>
      }
    />
  )
}
