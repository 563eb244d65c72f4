import { Button, Center, Stack } from '@mantine/core';
import { useInfiniteQuery, type UseInfiniteQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { LIVE_MS } from './live';
import { QueryView } from './query-view';

interface Page<T> {
  data: T[];
  next_cursor: string | null;
}

/** A list in pages, newest first. The loaded pages are read again while the screen is open. */
export function usePages<T>(queryKey: unknown[], read: (cursor: string | undefined) => Promise<Page<T>>) {
  return useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam }) => read(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
    select: ({ pages }) => pages.flatMap(({ data }) => data),
    refetchInterval: LIVE_MS,
  });
}

interface PagesViewProps<T> {
  pages: UseInfiniteQueryResult<T[]>;
  /** Shown in place of an empty list. */
  empty: ReactNode;
  children: (rows: T[]) => ReactNode;
}

export function PagesView<T>({ pages, empty, children }: PagesViewProps<T>) {
  const { t } = useTranslation();
  return (
    <QueryView query={pages}>
      {(rows) =>
        rows.length === 0 ? (
          empty
        ) : (
          <Stack>
            {children(rows)}
            {pages.hasNextPage && (
              <Center>
                <Button
                  variant="default"
                  loading={pages.isFetchingNextPage}
                  onClick={() => void pages.fetchNextPage()}
                >
                  {t('common.more')}
                </Button>
              </Center>
            )}
          </Stack>
        )
      }
    </QueryView>
  );
}
