import { createBrowserRouter, type RouteObject } from 'react-router';
import { HomePage, RequireSession } from './require-session';
import { NotFoundPage, RouteError } from './route-error';
import { Shell } from './shell';

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
        {
          element: <RequireSession />,
          children: [
            { index: true, element: <HomePage /> },
            {
              path: ':account',
              element: <Shell />,
              children: [
                page('numbers', () => import('../numbers/numbers-page')),
                page('numbers/:number', () => import('../numbers/number-page')),
                page('numbers/:number/pairing', () => import('../numbers/pairing/pairing-page')),
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
