import { Button, Center, Loader, Stack } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { ProblemAlert } from './problem-alert';

interface QueryViewProps<T> {
  query: Pick<UseQueryResult<T>, 'data' | 'error'> & { refetch: () => Promise<unknown> };
  /** The heading of the page while there is no data. */
  header?: ReactNode;
  children: (data: T) => ReactNode;
}

/** Shows the data of a query, or its progress or error. A failed renewal keeps the former data below its error. */
export function QueryView<T>({ query, header, children }: QueryViewProps<T>) {
  const { t } = useTranslation();
  const { data, error, refetch } = query;
  if (data === undefined && !error) {
    return (
      <>
        {header}
        <Center p="xl">
          <Loader role="img" aria-label={t('common.loading')} />
        </Center>
      </>
    );
  }
  return (
    <Stack>
      {data === undefined && header}
      {error && (
        <Stack align="flex-start">
          <ProblemAlert error={error} />
          <Button variant="default" size="xs" onClick={() => void refetch()}>
            {t('common.retry')}
          </Button>
        </Stack>
      )}
      {data !== undefined && <div>{children(data)}</div>}
    </Stack>
  );
}
