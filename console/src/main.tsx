import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import './style.css'
import './app/theme.js'
import { queryClient, router } from './app/router.js'
import { Toasts } from './parts/shell/toasts.js'

// The library of the dialogs adds style elements, which the policy of the page allows under this nonce alone.
Object.assign(globalThis, { __webpack_nonce__: document.querySelector<HTMLMetaElement>('meta[name=nonce]')?.content })

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <Toasts>
        <RouterProvider router={router} />
      </Toasts>
    </QueryClientProvider>
  </StrictMode>,
)
