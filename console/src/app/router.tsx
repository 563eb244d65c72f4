import { createBrowserRouter, type RouteObject } from 'react-router';
import { HomePage, RequireSession, StartPage } from './require-session';
import { NotFoundPage, RouteError } from './route-error';
import { PlatformShell, Shell } from './shell';

/** A page in a file of its own, loaded when it is opened. */
const page = (path: string, load: () => Promise<{ default: React.ComponentType }>): RouteObject => ({
  path,
  lazy: async () => ({ Component: (await load()).default }),
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
            {
              path: 'platform',
              element: <PlatformShell />,
              children: [
                page('overview', () => import('../platform/overview-page')),
                page('accounts', () => import('../platform/accounts-page')),
                page('accounts/:id', () => import('../platform/account-page')),
                page('numbers', () => import('../platform/numbers-page')),
                { path: '*', element: <NotFoundPage /> },
              ],
            },
            {
              path: ':account',
              element: <Shell />,
              children: [
                page('overview', () => import('../overview/overview-page')),
                page('numbers', () => import('../numbers/numbers-page')),
                page('numbers/:number', () => import('../numbers/number-page')),
                page('numbers/:number/pairing', () => import('../numbers/pairing/pairing-page')),
                page('messages', () => import('../messages/messages-page')),
                page('messages/new', () => import('../messages/send-page')),
                page('messages/:message', () => import('../messages/message-page')),
                page('opt-outs', () => import('../opt-outs/opt-outs-page')),
                page('webhooks', () => import('../webhooks/webhooks-page')),
                page('webhooks/new', () => import('../webhooks/create-page')),
                page('webhooks/:endpoint', () => import('../webhooks/endpoint-page')),
                page('deliveries/:delivery', () => import('../webhooks/delivery-page')),
                page('events', () => import('../events/events-page')),
                page('events/:event', () => import('../events/event-page')),
                page('keys', () => import('../keys/keys-page')),
                page('team', () => import('../team/team-page')),
                page('account', () => import('../account/account-page')),
                page('account/policy', () => import('../account/account-policy-page')),
                page('alert-contacts', () => import('../alert-contacts/alert-contacts-page')),
                page('audit-log', () => import('../audit-log/audit-log-page')),
                page('formats', () => import('../formats/formats-page')),
                page('profile', () => import('../profile/profile-page')),
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
