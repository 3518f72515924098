package proc

const sysPoll = -1 // there is only ppoll
