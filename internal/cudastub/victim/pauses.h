#ifndef VICTIM_PAUSES_H
#define VICTIM_PAUSES_H

/* Prints the share of the time for which that processor stood still that did so for longest. */
int pauses(void);

#endif
