import { ApiError } from '@gwk/client';
import { Badge, createTheme, DEFAULT_THEME, MantineProvider, type MantineColorsTuple } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from 'react-router/dom';
import { overviewQuery } from '../overview/overview-query';
import { SESSION_QUERY } from '../session/session';
import { router } from './router';

/** A palette whose darkest shade has a contrast of 4.5 on its lightest ones, for badges and marked links. */
function darken(name: string, darkest: string): MantineColorsTuple {
  return [...DEFAULT_THEME.colors[name]!.slice(0, 9), darkest] as unknown as MantineColorsTuple;
}

const theme = createTheme({
  colors: {
    teal: darken('teal', '#05634a'),
    blue: darken('blue', '#0b4f8f'),
    yellow: darken('yellow', '#7a4f00'),
    orange: darken('orange', '#8f3400'),
    red: darken('red', '#9c1f1f'),
  },
  primaryColor: 'teal',
  primaryShade: 9,
  defaultRadius: 'md',
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif',
  cursorType: 'pointer',
  respectReducedMotion: true,
  // A state is never cut, also in a narrow column.
  components: { Badge: Badge.extend({ defaultProps: { miw: 'max-content' } }) },
});

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      // An answer of the API is final; a failed connection is retried.
      retry: (failures, error) => !(error instanceof ApiError) && failures < 1,
    },
  },
});

const OVERVIEW = /^\/console\/(acc_[0-9a-f]{32})\/overview$/;

/** Starts the requests of the first page while its scripts load. */
export function prefetch(): void {
  void queries.prefetchQuery(SESSION_QUERY);
  const account = OVERVIEW.exec(location.pathname)?.[1];
  if (account !== undefined) void queries.prefetchQuery(overviewQuery(account));
}

export function App({ nonce }: { nonce: string }) {
  return (
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  );
}
