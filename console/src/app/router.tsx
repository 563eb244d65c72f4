import { createBrowserRouter, type RouteObject } from 'react-router';
import { HomePage, RequireSession, StartPage } from './require-session';
import type { PagePath } from './page-rights';
import { NotFoundPage, RouteError } from './route-error';

/** A page in a file of its own, loaded when it is opened. */
const page = (path: string, load: () => Promise<{ default: React.ComponentType }>): RouteObject => ({
  path,
  lazy: async () => ({ Component: (await load()).default }),
});

/** A page of an account. The shell shows it to members with its right. */
const accountPage = (path: PagePath, load: Parameters<typeof page>[1]): RouteObject => ({
  ...page(path, load),
  handle: path,
});

export const router = createBrowserRouter(
  [
    {
      errorElement: <RouteError />,
      HydrateFallback: () => null,
      children: [
        page('handoff', () => import('../session/handoff-page')),
        page('forgot-password', () => import('../session/forgot-password-page')),
        page('password-reset', () => import('../session/password-reset-page')),
        page('oidc', () => import('../session/provider-page')),
        page('invitation', () => import('../session/invitation-page')),
        {
          element: <RequireSession />,
          children: [
            { index: true, element: <HomePage /> },
            page('approve-key', () => import('../keys/approve-key-page')),
            {
              path: 'platform',
              lazy: async () => ({ Component: (await import('./shell')).PlatformShell }),
              children: [
                page('overview', () => import('../platform/overview-page')),
                page('accounts', () => import('../platform/accounts-page')),
                page('accounts/:id', () => import('../platform/account-page')),
                page('numbers', () => import('../platform/numbers-page')),
                page('profile', () => import('../profile/profile-page')),
                { path: '*', element: <NotFoundPage /> },
              ],
            },
            {
              path: ':account',
              lazy: async () => ({ Component: (await import('./shell')).Shell }),
              children: [
                accountPage('overview', () => import('../overview/overview-page')),
                accountPage('numbers', () => import('../numbers/numbers-page')),
                accountPage('numbers/:number', () => import('../numbers/number-page')),
                accountPage('numbers/:number/pairing', () => import('../numbers/pairing/pairing-page')),
                accountPage('conversations', () => import('../conversations/conversations-page')),
                accountPage('messages', () => import('../messages/messages-page')),
                accountPage('messages/new', () => import('../messages/send-page')),
                accountPage('messages/:message', () => import('../messages/message-page')),
                accountPage('opt-outs', () => import('../opt-outs/opt-outs-page')),
                accountPage('webhooks', () => import('../webhooks/webhooks-page')),
                accountPage('webhooks/new', () => import('../webhooks/create-page')),
                accountPage('webhooks/:endpoint', () => import('../webhooks/endpoint-page')),
                accountPage('deliveries/:delivery', () => import('../webhooks/delivery-page')),
                accountPage('events', () => import('../events/events-page')),
                accountPage('events/:event', () => import('../events/event-page')),
                accountPage('keys', () => import('../keys/keys-page')),
                accountPage('team', () => import('../team/team-page')),
                accountPage('account', () => import('../account/account-page')),
                accountPage('account/policy', () => import('../account/account-policy-page')),
                accountPage('alert-contacts', () => import('../alert-contacts/alert-contacts-page')),
                accountPage('audit-log', () => import('../audit-log/audit-log-page')),
                accountPage('formats', () => import('../formats/formats-page')),
                accountPage('profile', () => import('../profile/profile-page')),
                { index: true, element: <StartPage /> },
                { path: '*', element: <NotFoundPage /> },
              ],
            },
          ],
        },
      ],
    },
  ],
  { basename: '/console' },
);
